/** Which tenants' turns kept a runner busy lately, so that others' guests are not put behind the next of them. */

/** A shorter turn keeps nobody waiting. */
const longMillis = 10
/** In this time what was counted loses most of its weight. */
const memoryMillis = 2_000
/** A tenant with less than this in that time shares its runner with others as if it had nothing. */
const busyMillis = 100
const mostTenants = 100

interface Spent {
  millis: number
  at: number
}

export class LongTurns {
  private readonly tenants = new Map<string, Spent>()

  /** A turn of the tenant has taken so long; times are those of one monotonic clock. */
  add(tenant: string, millis: number, now: number): void {
    if (millis < longMillis) return
    const spent = this.spentBy(tenant, now) + millis
    this.tenants.delete(tenant)
    this.tenants.set(tenant, { millis: spent, at: now })
    const [oldest] = this.tenants.size > mostTenants ? this.tenants.keys() : []
    if (oldest !== undefined) this.tenants.delete(oldest)
  }

  /** Whether the tenant itself keeps the runner busy. */
  isBusyWith(tenant: string, now: number): boolean {
    return this.spentBy(tenant, now) > busyMillis
  }

  /** Whether another tenant does. */
  isBusyBeside(tenant: string, now: number): boolean {
    for (const other of this.tenants.keys()) if (other !== tenant && this.isBusyWith(other, now)) return true
    return false
  }

  private spentBy(tenant: string, now: number): number {
    const spent = this.tenants.get(tenant)
    return spent === undefined ? 0 : spent.millis * Math.exp((spent.at - now) / memoryMillis)
  }
}
