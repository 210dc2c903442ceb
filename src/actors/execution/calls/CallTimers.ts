/** The timers and postponed calls of one run, sorted by due time. They need no fiber and do not count as in flight. */

interface Numbered {
  readonly id: number
  readonly name: string
}

interface CallTimer<Call> {
  readonly call: Call
  readonly due: number
}

const isLater = <Call extends Numbered>(one: CallTimer<Call>, other: CallTimer<Call>): boolean =>
  one.due > other.due || (one.due === other.due && one.call.id > other.call.id)

/** Sorted set of calls with their due times; ties are in the guest's order. */
export class CallTimers<Call extends Numbered> {
  /** The latest first, so that due ones are popped from the end. */
  private readonly timers: Array<CallTimer<Call>> = []

  get size(): number {
    return this.timers.length
  }

  /** When the earliest is due, in Unix milliseconds; `undefined` when there is none. */
  get nextDue(): number | undefined {
    return this.timers.at(-1)?.due
  }

  /** Whether a call of this name is among them. */
  has(name: string): boolean {
    return this.timers.some(({ call }) => call.name === name)
  }

  /** Removes and returns the calls of this name, the earliest first. */
  takeNamed(name: string): ReadonlyArray<Call> {
    const taken = this.timers.filter(({ call }) => call.name === name).map(({ call }) => call)
    if (taken.length > 0)
      this.timers.splice(0, this.timers.length, ...this.timers.filter(({ call }) => call.name !== name))
    return taken.toReversed()
  }

  /** Removes the call of this number. */
  remove(id: number): void {
    const at = this.timers.findIndex(({ call }) => call.id === id)
    if (at >= 0) this.timers.splice(at, 1)
  }

  /** `due`: Unix milliseconds. */
  add(call: Call, due: number): void {
    const timer = { call, due }
    let from = 0
    let to = this.timers.length
    while (from < to) {
      const middle = (from + to) >>> 1
      const other = this.timers[middle]
      if (other !== undefined && isLater(other, timer)) from = middle + 1
      else to = middle
    }
    this.timers.splice(from, 0, timer)
  }

  /** Removes and returns the calls that are due, the earliest first. */
  takeDue(now: number): ReadonlyArray<Call> {
    const due: Array<Call> = []
    for (let last = this.timers.at(-1); last !== undefined && last.due <= now; last = this.timers.at(-1)) {
      this.timers.pop()
      due.push(last.call)
    }
    return due
  }
}
