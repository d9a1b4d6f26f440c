
import time, pytest
from statistics import median
pytestmark=[pytest.mark.spark]
def test_cost(shop):
    import cost
    folder = shop.feed("orders_feed", "csv", "id BIGINT, v BIGINT")
    shop.table("orders", "SELECT id, v FROM STREAM orders_feed")
    took=[]; flushed=[]
    for n in range(60):
        (folder / f"{n}.csv").write_text("\\n".join(f"{i},{n}" for i in range(2000)))
        cost.spent.clear()
        b=time.perf_counter(); shop.load("orders", f"{n}.csv"); took.append(time.perf_counter()-b); flushed.append(sum(cost.spent))
    took, flushed = took[20:], flushed[20:]
    print("UPDATE ms", median(took)*1e3, "FLUSH ms", median(flushed)*1e3, max(flushed)*1e3)
