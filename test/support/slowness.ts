/**
 * How much slower this machine is than the one whose times are recorded (`scripts/test.mjs`): limits of tests and of waits are as
 * much longer. 1 in a run by vitest alone.
 */
const slowness = Number(process.env["SVC_TEST_SLOWNESS"] ?? 1)

/** Milliseconds of a limit on this machine. */
export const scaled = (millis: number): number => Math.ceil(millis * slowness)
