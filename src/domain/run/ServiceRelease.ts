/**
 * The releases of svc itself, and the rule by which they share a database: two neighbouring numbers run together, never
 * three, and none below the one that an operator has confirmed. Until a release is confirmed it writes only what its
 * predecessor reads, so that the way back is open. Decision 64.
 */

/**
 * The number of this release. The next release has the next number; builds between two releases share it, and do not run
 * together.
 */
export const serviceRelease: number = 1

/** A service that runs on the database: a node of a cluster, or the only process. */
export interface LiveService {
  /** For the operator: `runner at 10.0.0.4:8100`. */
  readonly name: string
  /** 0: of a release before releases had numbers. */
  readonly release: number
  /** `null`: not known, of a service that is alone. */
  readonly build: string | null
}

/** What the database knows of releases. */
export interface ReleaseRecord {
  /** The last one that was confirmed: none below it starts any more. */
  readonly confirmed: number
  /** The sandbox engine on which its runs begin; `null` until one of its nodes has started. */
  readonly engine: string | null
}

/** A program that is about to use the database. */
export interface StartingProgram {
  readonly release: number
  /** `null`: a command, or a service that is alone, beside which no node runs. */
  readonly build: string | null
  /** The sandbox engines that it can run, the current one first; `null` if it computes no runs. */
  readonly engines: ReadonlyArray<string> | null
}

/**
 * Why a program must not run on a database with these services, as one sentence; `undefined` if it may. `record`: absent on
 * a database without one, which is empty or of a release without a number.
 */
export const startRefusal = (
  { build, engines, release }: StartingProgram,
  live: ReadonlyArray<LiveService>,
  record: ReleaseRecord | undefined
): string | undefined => {
  const here = `This is release ${release} of svc`
  const unnumbered = live.find((one) => one.release === 0)
  if (unnumbered !== undefined)
    return `${here}, and a node of a release without a number runs on this database (${unnumbered.name}): stop all nodes, then start this one.`
  const distant = live.find((one) => Math.abs(one.release - release) > 1)
  if (distant !== undefined)
    return `${here}, and a node of release ${distant.release} runs on this database (${distant.name}): only neighbouring releases run together.`
  if (record !== undefined && release < record.confirmed)
    return `${here}, and release ${record.confirmed} is confirmed on this database, so that there is no way back: start release ${record.confirmed}.`
  if (record !== undefined && live.length > 0 && release > record.confirmed + 1)
    return `${here}, and release ${release - 1} is not confirmed on this database: run svc cluster confirm with release ${release - 1} first.`
  const isOther = (one: LiveService) => one.release === release && one.build !== null && one.build !== build
  const other = build === null ? undefined : live.find(isOther)
  if (other !== undefined)
    return `A node of another build runs on this database (${other.name}), and both are of release ${release}. All nodes of a release are of one build: stop it first, or start the same build.`
  const engine = predecessorEngine(release, record)
  if (build !== null && engine !== null && engines !== null && !engines.includes(engine))
    return `This build has no sandbox engine ${engine}, on which runs begin until release ${release} is confirmed: copy dist/engines of the build of release ${release - 1} beside this program.`
  return undefined
}

/** Whether the release is its predecessor's successor on trial: going back is possible. */
export const isUnconfirmed = (release: number, record: ReleaseRecord | undefined): boolean =>
  record !== undefined && release === record.confirmed + 1

/** The engine of the predecessor, on which new runs begin until the release is confirmed; `null` once it is. */
export const predecessorEngine = (release: number, record: ReleaseRecord | undefined): string | null =>
  isUnconfirmed(release, record) ? (record?.engine ?? null) : null

/**
 * The confirmed release once this one has started. A start on an empty database, or further than one release on while no
 * service runs, leaves no predecessor to go back to.
 */
export const confirmedAfterStart = (release: number, record: ReleaseRecord | undefined): number =>
  record === undefined || release > record.confirmed + 1 ? release : record.confirmed

/** A migration with the oldest service release that may run beside it. */
export interface BoundMigration {
  readonly name: string
  readonly oldestBeside: number
}

/**
 * Divides pending migrations. `now`: those that leave every release whole which may still run. `later`: those that the
 * release itself can do without, until it is confirmed. Returns a sentence if one that the release needs would break a
 * service that runs, or a release to which the operator may go back.
 */
export const planMigrations = (
  pending: ReadonlyArray<BoundMigration>,
  release: number,
  live: ReadonlyArray<LiveService>,
  record: ReleaseRecord | undefined
): { readonly now: ReadonlyArray<string>; readonly refusal: string | undefined } => {
  const confirmed = live.length === 0 ? confirmedAfterStart(release, record) : (record?.confirmed ?? release)
  const due = pending.filter(({ oldestBeside }) => oldestBeside < release || oldestBeside <= confirmed)
  for (const { name, oldestBeside } of due) {
    const what = `Migration ${name} needs service release ${oldestBeside} or later`
    const broken = live.find((one) => one.release < oldestBeside)
    if (broken !== undefined)
      return {
        now: [],
        refusal: `${what}, and would break a node of release ${broken.release} (${broken.name}): stop that node first.`
      }
    if (confirmed < oldestBeside)
      return {
        now: [],
        refusal: `${what}, and release ${confirmed} may still be gone back to: run svc cluster confirm with release ${oldestBeside} first.`
      }
  }
  return { now: due.map(({ name }) => name), refusal: undefined }
}

/** Why the release cannot be confirmed, as one sentence; `undefined` if it can. */
export const confirmRefusal = (
  release: number,
  live: ReadonlyArray<LiveService>,
  { confirmed }: ReleaseRecord
): string | undefined => {
  if (release < confirmed) return `Release ${confirmed} is confirmed, and this is release ${release} of svc.`
  if (release > confirmed + 1)
    return `Release ${confirmed} is confirmed, and this is release ${release} of svc: confirm release ${confirmed + 1} first.`
  const other = live.find((one) => one.release !== release)
  return other === undefined
    ? undefined
    : `A node of release ${other.release} runs (${other.name}), and this is release ${release} of svc: confirm a release once all nodes are of it.`
}
