/** The turns that were sent to one runner and are not yet answered, in the order in which the runner takes them. */
import type { GuestOutput } from "../../actors/ports/run/Sandbox.js"
import { BriefMap } from "../../domain/BriefMap.js"
import type { TurnFailure } from "./runner/Protocol.js"

/** The result of a turn that was sent to a runner. */
export type RunnerAnswer =
  | {
      readonly tag: "Turn"
      readonly outputs: ReadonlyArray<ReadonlyArray<GuestOutput>>
      readonly ended: boolean
      readonly cpuMillis: number
      readonly memoryBytes: number
    }
  | TurnFailure
  /** `wasAtWork`: the runner was working on this guest, or about to. */
  | { readonly tag: "RunnerDied"; readonly wasAtWork: boolean }

export interface PendingTurn {
  readonly onAnswer: (answer: RunnerAnswer) => void
  readonly limitMillis: number
  readonly tenant: string
  readonly askedAt: number
}

export class PendingTurns {
  private readonly turns = new BriefMap<number, PendingTurn>()
  /** Kept up to date, since every start of a run reads it. */
  private readonly byTenant = new Map<string, number>()

  get size(): number {
    return this.turns.size
  }

  add(session: number, turn: PendingTurn): void {
    this.turns.set(session, turn)
    this.byTenant.set(turn.tenant, (this.byTenant.get(turn.tenant) ?? 0) + 1)
  }

  get(session: number): PendingTurn | undefined {
    return this.turns.get(session)
  }

  /** Removes a turn and returns it. */
  take(session: number): PendingTurn | undefined {
    const turn = this.turns.get(session)
    if (turn === undefined) return undefined
    this.turns.delete(session)
    const left = (this.byTenant.get(turn.tenant) ?? 1) - 1
    if (left === 0) this.byTenant.delete(turn.tenant)
    else this.byTenant.set(turn.tenant, left)
    return turn
  }

  /** The session that the runner takes next. */
  nextSession(): number | undefined {
    for (const session of this.turns.keys()) return session
    return undefined
  }

  /** Whether more than half of the turns belong to the tenant. */
  belongMostlyTo(tenant: string): boolean {
    return (this.byTenant.get(tenant) ?? 0) * 2 > this.turns.size
  }

  entries(): Iterable<readonly [session: number, turn: PendingTurn]> {
    return this.turns
  }

  clear(): void {
    this.turns.clear()
    this.byTenant.clear()
  }
}
