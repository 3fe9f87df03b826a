"""A worker for ax workflows: it polls a server, or is pushed to, and runs functions as handlers.

    from ax_worker import Task, Worker

    def load(task: Task) -> object:
        task.log(f"loading {task.logical_date}")
        return {"rows": 812}

    Worker("http://127.0.0.1:7420", "loader-1", {"orders.load": load}).run()
"""

from .task import Permanent, Retry, Skip, Task
from .worker import Worker

__all__ = ["Permanent", "Retry", "Skip", "Task", "Worker"]
