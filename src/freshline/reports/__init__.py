"""Reports with deadlines: planning and running a query over a window in few batches.

Source: Chandrasekaran and Sudarshan 2024, "Scheduling of Intermittent Query Processing";
where its text is wrong or silent, rules C1 to C17 of docs/papers.md. One report with known
input is planned by `freshline.reports.planning.planner`; many reports are run by the state
machine in `freshline.reports.scheduler`, which knows no clock and no Spark: events go in, commands
come out, so that the simulator and the warehouse drive the same object.
"""
