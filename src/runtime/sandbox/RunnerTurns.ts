/** The turns of one runner that are not yet answered: which it works on and since when, and which have yielded. */
import { LongTurns } from "./LongTurns.js"
import { type PendingTurn, PendingTurns } from "./PendingTurns.js"

/** A turn that takes longer than this delays those behind it. */
const longTurnMillis = 20
/** How long a turn of another tenant waits before it moves to another runner. */
const moveAfterMillis = 20
/** A queue of this many turns is long. */
const longQueue = 8

export class RunnerTurns {
  /** The tenants whose turns were long lately. */
  readonly longTurns = new LongTurns()
  /** When the runner began what it works on, by the monotonic clock. */
  workStartedAt = 0
  /** The runner works on the first one, unless it has reported or noted that it began another. */
  private readonly queued = new PendingTurns()
  /** Replays that have yielded. */
  private readonly yielded = new Map<number, PendingTurn>()
  private begun: number | undefined
  /** The longest that a turn of this runner may compute. */
  private longestLimitMillis = 0

  /** `notedSession`: the session of the unanswered turn that the runner has noted, if any. */
  constructor(private readonly notedSession: () => number | undefined) {}

  get size(): number {
    return this.queued.size + this.yielded.size
  }

  get(session: number): PendingTurn | undefined {
    return this.queued.get(session) ?? this.yielded.get(session)
  }

  /** Queues a turn. */
  add(session: number, turn: PendingTurn): void {
    if (this.size === 0) this.workStartedAt = turn.askedAt
    this.longestLimitMillis = Math.max(this.longestLimitMillis, turn.limitMillis)
    this.queued.add(session, turn)
  }

  /**
   * Removes the turn that the runner has answered, and returns it. `cpuMillis`: what it computed, since answers that
   * arrive together do not tell how long each turn took.
   */
  take(session: number, cpuMillis?: number): PendingTurn | undefined {
    const queued = this.queued.take(session)
    const turn = queued ?? this.yielded.get(session)
    this.yielded.delete(session)
    this.begun = undefined
    const now = performance.now()
    // A replay yields to other turns: only what it computed since then delayed them.
    const millis = queued === undefined || cpuMillis === undefined ? now - this.workStartedAt : cpuMillis
    if (turn !== undefined) this.longTurns.add(turn.tenant, millis, now)
    this.workStartedAt = now
    return turn
  }

  /** The runner has put this turn aside and goes on with another one. */
  yield(session: number): void {
    const turn = this.queued.take(session)
    if (turn !== undefined) this.yielded.set(session, turn)
    this.begun = undefined
    this.workStartedAt = performance.now()
  }

  /** The runner has begun this turn, which need not be the first one. */
  begin(session: number): void {
    this.begun = session
    this.workStartedAt = performance.now()
  }

  /** The session that the runner works on; `undefined` between a yielded replay and the next work. */
  sessionAtWork(): number | undefined {
    return this.begun ?? this.notedSession() ?? this.queued.nextSession()
  }

  /**
   * How long the turn of this session may compute. A turn that was moved elsewhere just as the runner began it is no
   * longer known, and computes on: it may compute as long as any.
   */
  limitOf(session: number): number {
    return this.get(session)?.limitMillis ?? this.longestLimitMillis
  }

  /** The tenant that delays others: its turn is long, or most turns of a long queue are its own. */
  busyTenant(): string | undefined {
    if (this.size === 0) return undefined
    if (performance.now() - this.workStartedAt > longTurnMillis) return this.tenantAtWork()
    if (this.queued.size < longQueue) return undefined
    const tenant = this.tenantOf(this.begun ?? this.queued.nextSession())
    return tenant !== undefined && this.queued.belongMostlyTo(tenant) ? tenant : undefined
  }

  /** Removes and returns the queued turns that wait for another tenant's turn too long, if `canRunElsewhere`. */
  takeMovable(canRunElsewhere: (tenant: string) => boolean): ReadonlyArray<readonly [number, PendingTurn]> {
    const atWork = this.sessionAtWork()
    const tenant = this.tenantAtWork()
    const now = performance.now()
    const movable = [...this.queued.entries()].filter(
      ([session, turn]) =>
        session !== atWork &&
        turn.tenant !== tenant &&
        now - turn.askedAt >= moveAfterMillis &&
        canRunElsewhere(turn.tenant)
    )
    for (const [session] of movable) this.queued.take(session)
    return movable
  }

  /** Removes and returns all turns. */
  takeAll(): ReadonlyArray<readonly [number, PendingTurn]> {
    const all = [...this.queued.entries(), ...this.yielded]
    this.queued.clear()
    this.yielded.clear()
    return all
  }

  private tenantAtWork(): string | undefined {
    return this.tenantOf(this.sessionAtWork())
  }

  private tenantOf(session: number | undefined): string | undefined {
    return session === undefined ? undefined : this.get(session)?.tenant
  }
}
