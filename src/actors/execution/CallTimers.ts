/** Calls of one run that wait for a time: timers, and calls that are held back. They need no fiber and no place. */

interface Numbered {
  readonly id: number
}

interface Alarm<Call> {
  readonly call: Call
  readonly due: number
}

const isLater = <Call extends Numbered>(one: Alarm<Call>, other: Alarm<Call>): boolean =>
  one.due > other.due || (one.due === other.due && one.call.id > other.call.id)

export class CallTimers<Call extends Numbered> {
  /** The latest first. */
  private readonly alarms: Array<Alarm<Call>> = []

  get size(): number {
    return this.alarms.length
  }

  /** When the earliest is due, in Unix milliseconds. */
  get next(): number | undefined {
    return this.alarms.at(-1)?.due
  }

  add(call: Call, due: number): void {
    const alarm = { call, due }
    let from = 0
    let to = this.alarms.length
    while (from < to) {
      const middle = (from + to) >>> 1
      const other = this.alarms[middle]
      if (other !== undefined && isLater(other, alarm)) from = middle + 1
      else to = middle
    }
    this.alarms.splice(from, 0, alarm)
  }

  /** Takes the calls that are due, in the order of their times and, of equal ones, in the guest's. */
  takeDue(now: number): ReadonlyArray<Call> {
    const due: Array<Call> = []
    for (let last = this.alarms.at(-1); last !== undefined && last.due <= now; last = this.alarms.at(-1)) {
      this.alarms.pop()
      due.push(last.call)
    }
    return due
  }
}
