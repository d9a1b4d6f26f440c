// The toolkit: preact with hooks and htm, one name for all pages.
export {
  h, html, render, useState, useEffect, useRef, useMemo, useCallback, useLayoutEffect,
} from "/assets/vendor/standalone.module.js";
