/**
 * A scheduler of fibers that lets the event loop go on every few milliseconds. The library gives up each shard in fibers of
 * its own, a thousand in one move: by the default scheduler all of them run before anything else of the node.
 */
import { Scheduler } from "effect"

/** How long its fibers may hold the event loop at a time, in milliseconds. */
const sliceMillis = 4

export class SlicedScheduler implements Scheduler.Scheduler {
  private tasks: Array<Scheduler.Task> = []
  private isRunning = false

  shouldYield(fiber: Parameters<Scheduler.Scheduler["shouldYield"]>[0]): number | false {
    return Scheduler.defaultScheduler.shouldYield(fiber)
  }

  scheduleTask(task: Scheduler.Task): void {
    this.tasks.push(task)
    if (this.isRunning) return
    this.isRunning = true
    queueMicrotask(this.run)
  }

  private readonly run = (): void => {
    const until = performance.now() + sliceMillis
    // Tasks add further ones.
    for (const [n, task] of this.tasks.entries()) {
      task()
      if (performance.now() < until) continue
      this.tasks = this.tasks.slice(n + 1)
      if (this.tasks.length === 0) break
      return void setImmediate(this.run)
    }
    this.tasks = []
    this.isRunning = false
  }
}
