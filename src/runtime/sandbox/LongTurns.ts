/** Measures which tenants' turns kept a runner busy lately, so that guests of other tenants go to another runner. */
import { RecentMap } from "../../domain/RecentMap.js"

/** Shorter turns are not counted: they delay others too little. */
const longTurnMillis = 10
/** Time constant of the exponential decay of what was counted. */
const decayMillis = 2_000
/** A tenant with less than this, decayed, does not count as keeping its runner busy. */
const busyMillis = 100
const maxTenants = 100

interface TurnTime {
  millis: number
  at: number
}

export class LongTurns {
  private readonly tenants = new RecentMap<string, TurnTime>(maxTenants)

  /** Records the duration of a tenant's turn. `now` is of one monotonic clock. */
  add(tenant: string, millis: number, now: number): void {
    if (millis < longTurnMillis) return
    this.tenants.set(tenant, { millis: this.turnMillisOf(tenant, now) + millis, at: now })
  }

  /** Whether the tenant kept the runner busy lately. */
  isBusyWith(tenant: string, now: number): boolean {
    return this.turnMillisOf(tenant, now) > busyMillis
  }

  /** Whether another tenant kept the runner busy lately. */
  isBusyWithOther(tenant: string, now: number): boolean {
    for (const other of this.tenants.keys()) if (other !== tenant && this.isBusyWith(other, now)) return true
    return false
  }

  private turnMillisOf(tenant: string, now: number): number {
    const turnMillis = this.tenants.get(tenant)
    return turnMillis === undefined ? 0 : turnMillis.millis * Math.exp((turnMillis.at - now) / decayMillis)
  }
}
