/**
 * Chooses the runner for a guest: that of its organisation, whose memory holds the program, unless another tenant keeps it
 * busy or another runner is much less loaded. A tenant is an account: one that keeps runners busy itself never gets the
 * spare one, and leaves a processor to the others while they start guests.
 */
import { availableParallelism } from "node:os"
import type { ShareOwner } from "../../domain/share/ShareOwner.js"
import type { RunnerProcess } from "./RunnerProcess.js"

/** A runner with fewer pending turns than this is not busy. */
const busyFrom = 4
/** How long a tenant counts as active after it has started a guest. */
const activeMillis = 1_000

export interface RunnerChoice {
  /** The runner for a guest of the owner; `undefined` while no runner is alive. */
  readonly choose: (owner: ShareOwner) => RunnerProcess | undefined
  /** Whether another runner than this one is not busy and would soon run a turn of this tenant. */
  readonly canMove: (tenant: string, from: RunnerProcess) => boolean
}

/** Chooses among the runners that are in `slots`, and the one that `spare` returns, at each call. */
export const makeRunnerChoice = (
  slots: ReadonlyArray<RunnerProcess | undefined>,
  spare: () => RunnerProcess | undefined,
  processors: number = availableParallelism()
): RunnerChoice => {
  const active = new ActiveTenants()
  const aliveRunners = () => slots.filter((runner): runner is RunnerProcess => runner?.isAlive() === true)

  /** The spare runner, while other tenants keep all others busy, for a tenant that keeps none busy. */
  const spareFor = (tenant: string, alive: ReadonlyArray<RunnerProcess>): RunnerProcess | undefined => {
    const runner = spare()
    return runner?.isAlive() === true &&
      isOpenTo(runner, tenant) &&
      alive.every((other) => other.busyTenant() !== tenant)
      ? runner
      : undefined
  }

  const withSpare = (tenant: string, alive: ReadonlyArray<RunnerProcess>): ReadonlyArray<RunnerProcess> => {
    const runner = spareFor(tenant, alive)
    return runner === undefined ? alive : [...alive, runner]
  }

  const leastLoadedOpenTo = (tenant: string): RunnerProcess | undefined => {
    let least: RunnerProcess | undefined
    for (const runner of slots) {
      if (runner?.isAlive() !== true || (least !== undefined && runner.load() >= least.load())) continue
      if (isOpenTo(runner, tenant)) least = runner
    }
    return least
  }

  /**
   * The least loaded runner on which no other tenant had long turns lately. `undefined` if that holds for all runners,
   * or if the tenant had long turns itself: then it stays where it is.
   */
  const leastDisturbed = (tenant: string): RunnerProcess | undefined => {
    const alive = aliveRunners()
    const now = performance.now()
    if (alive.every((runner) => isUndisturbed(runner, tenant))) return undefined
    if (alive.some((runner) => runner.longTurns.isBusyWith(tenant, now))) return undefined
    return leastLoaded(
      withSpare(tenant, alive).filter((runner) => isFreeFor(runner, tenant) && isUndisturbed(runner, tenant))
    )
  }

  /**
   * The runner of a tenant that has long turns on all processors but one, or on the only one, while other tenants are
   * active: it gets no further one. `undefined` for any other tenant.
   */
  const boundRunner = (tenant: string, now: number): RunnerProcess | undefined => {
    if (!active.hasOther(tenant, now)) return undefined
    const own = aliveRunners().filter((runner) => runner.longTurns.isBusyWith(tenant, now) && isOpenTo(runner, tenant))
    return own.length < Math.max(1, processors - 1) ? undefined : leastLoaded(own)
  }

  return {
    choose: ({ account: tenant, organisation }) => {
      const now = performance.now()
      active.add(tenant, now)
      const bound = boundRunner(tenant, now)
      if (bound !== undefined) return bound
      const preferred = slots[hash(organisation) % slots.length]
      const isAlive = preferred?.isAlive() === true
      const isFree = isAlive && isFreeFor(preferred, tenant)
      const undisturbed = isFree && isUndisturbed(preferred, tenant) ? preferred : leastDisturbed(tenant)
      if (undisturbed !== undefined) return undisturbed
      if (isFree) return preferred
      const least = leastLoadedOpenTo(tenant)
      if (least === undefined) {
        const alive = aliveRunners()
        return spareFor(tenant, alive) ?? leastLoaded(alive)
      }
      if (!isAlive || !isOpenTo(preferred, tenant)) return least
      return least.load() * 2 < preferred.load() ? least : preferred
    },
    canMove: (tenant, from) =>
      withSpare(tenant, aliveRunners()).some((runner) => runner !== from && isFreeFor(runner, tenant))
  }
}

// --- Private ---

/** The two tenants that started guests last: enough to know whether there is one beside any given tenant. */
class ActiveTenants {
  private last: { readonly tenant: string; readonly at: number } | undefined
  private before: { readonly tenant: string; readonly at: number } | undefined

  add(tenant: string, at: number): void {
    if (this.last?.tenant !== tenant) this.before = this.last
    this.last = { tenant, at }
  }

  hasOther(tenant: string, now: number): boolean {
    const other = this.last?.tenant === tenant ? this.before : this.last
    return other !== undefined && now - other.at < activeMillis
  }
}

/** Whether the runner would run a turn of this tenant soon: no other tenant keeps it busy. */
const isOpenTo = (runner: RunnerProcess, tenant: string): boolean => {
  const busyTenant = runner.busyTenant()
  return busyTenant === undefined || busyTenant === tenant
}

const isFreeFor = (runner: RunnerProcess, tenant: string): boolean =>
  runner.load() < busyFrom && isOpenTo(runner, tenant)

/** Whether no other tenant had long turns on the runner lately. */
const isUndisturbed = (runner: RunnerProcess, tenant: string): boolean =>
  !runner.longTurns.isBusyWithOther(tenant, performance.now())

const leastLoaded = (runners: ReadonlyArray<RunnerProcess>): RunnerProcess | undefined => {
  let least: RunnerProcess | undefined
  for (const runner of runners) if (least === undefined || runner.load() < least.load()) least = runner
  return least
}

/** FNV-1a: spreads similar keys. */
const hash = (text: string): number => {
  let value = 0x811c9dc5
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
  return value >>> 0
}
