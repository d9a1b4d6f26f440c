import pytest

from freshline.sql.text.tokens import SqlTextError, tokens


def _texts(sql):
    return [token.text for token in tokens(sql)]


@pytest.mark.parametrize(
    ("sql", "texts"),
    [
        ("a -- b\nc", ["a", "c"]),
        ("a -- b \\\n still\nc", ["a", "c"]),
        ("a -- C:\\d\\\r\nb", ["a", "b"]),
        ("a /* b /* c */ d */ e", ["a", "e"]),
        ("/* as /*+ b */ c", ["c"]),
        ("SELECT /*+ BROADCAST(t) */ 1", ["SELECT", "/*+", "BROADCAST", "(", "t", ")", "*/", "1"]),
        (r"'it''s' 'a\'b' x", ["'it''s'", r"'a\'b'", "x"]),
        (r"r'\' x", [r"r'\'", "x"]),
        ("`a``b`.c", ["`a``b`", ".", "c"]),
        ('"two; words"', ['"two; words"']),
        ("a|>b", ["a", "|>", "b"]),
        ("'--' \"/*\" `;`", ["'--'", '"/*"', "`;`"]),
        ("größe+1", ["größe", "+", "1"]),
        ("2. FROM t", ["2.", "FROM", "t"]),
        ("a>1.5 AND b<3.", ["a", ">", "1", ".", "5", "AND", "b", "<", "3."]),
    ],
)
def test_texts_are_cut_as_spark_cuts_them(sql, texts):
    assert _texts(sql) == texts


def test_tokens_know_their_lines_across_strings_and_comments_of_several_lines():
    sql = "a\n/* 1\n2 */ b 'x\ny' c\r\nd"
    assert [(token.text, token.line) for token in tokens(sql)] == [
        ("a", 1),
        ("b", 3),
        ("'x\ny'", 3),
        ("c", 4),
        ("d", 5),
    ]


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("a\n'b", "a string is not closed"),
        ("a\nr'b", "a string is not closed"),
        ("a\n`b", "a backquoted name is not closed"),
        ("a\n/* /* */", "a comment is not closed"),
    ],
)
def test_what_is_not_closed_is_named_with_the_line_where_it_opens(sql, what):
    with pytest.raises(SqlTextError) as raised:
        tokens(sql)
    assert (raised.value.what, raised.value.line) == (what, 2)


def test_a_word_that_begins_with_a_digit_is_a_name_unless_it_is_a_number():
    texts = "2024_sales 1a 0x1F 7 7L 7y 7.5e 7e3 7bd 7. 7D"
    assert [each.text for each in tokens(texts) if each.is_name] == ["2024_sales", "1a", "0x1F"]


def test_values_and_names_lose_their_quotes():
    string, raw, quoted, word = tokens(r"'it''s\n' R'\n' `a``b` c")
    assert (string.value, raw.value) == ("it's\n", r"\n")
    assert (quoted.name, word.name) == ("a`b", "c")
