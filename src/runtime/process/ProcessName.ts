/** The name of this process in the sessions that it opens, by which others of its cluster find and end them. */
import { randomBytes } from "node:crypto"

/** Another one for each process, also on the same machine. */
export const processName = randomBytes(4).toString("hex")

/** The name of a session of this process; `use` says what for. */
export const sessionName = (use: string): string => `${use} ${processName}`
