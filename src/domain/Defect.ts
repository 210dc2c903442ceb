/** What is logged of a bug. Its message may hold a tenant's values, so it is left out: its kind and its frames tell where. */

const mostFrames = 20

export interface Defect {
  readonly error: string
  readonly frames: ReadonlyArray<string>
}

export const defectOf = (cause: unknown): Defect => {
  if (!(cause instanceof Error)) return { error: typeof cause, frames: [] }
  const name = cause.constructor.name
  const code =
    "code" in cause && typeof cause.code === "string" && /^[A-Z0-9_]{1,40}$/.test(cause.code) ? cause.code : ""
  const frames = (cause.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line))
  return {
    error: code === "" ? name : `${name} ${code}`,
    frames: frames.slice(0, mostFrames).map((line) => line.trim())
  }
}
