/** The turns that one runner was asked for and has not answered, in the order in which it will come to them. */
import type { TurnAnswer } from "./TurnAnswer.js"

export interface AskedTurn {
  readonly onAnswer: (answer: TurnAnswer) => void
  readonly limitMillis: number
  readonly tenant: string
  readonly askedAt: number
}

export class PendingTurns {
  private readonly turns = new Map<number, AskedTurn>()
  /** Counted as they come and go: it is asked for at every start of a run. */
  private readonly byTenant = new Map<string, number>()

  get size(): number {
    return this.turns.size
  }

  add(session: number, turn: AskedTurn): void {
    this.turns.set(session, turn)
    this.byTenant.set(turn.tenant, (this.byTenant.get(turn.tenant) ?? 0) + 1)
  }

  get(session: number): AskedTurn | undefined {
    return this.turns.get(session)
  }

  /** Takes a turn out. */
  take(session: number): AskedTurn | undefined {
    const turn = this.turns.get(session)
    if (turn === undefined) return undefined
    this.turns.delete(session)
    const left = (this.byTenant.get(turn.tenant) ?? 1) - 1
    if (left === 0) this.byTenant.delete(turn.tenant)
    else this.byTenant.set(turn.tenant, left)
    return turn
  }

  /** The session that the runner comes to next. */
  first(): number | undefined {
    for (const session of this.turns.keys()) return session
    return undefined
  }

  /** Whether more than half of the turns are the tenant's. */
  areMostly(tenant: string): boolean {
    return (this.byTenant.get(tenant) ?? 0) * 2 > this.turns.size
  }

  entries(): Iterable<readonly [session: number, turn: AskedTurn]> {
    return this.turns
  }

  clear(): void {
    this.turns.clear()
    this.byTenant.clear()
  }
}
