/** The use cases of releases, as one layer. */
import { Releases } from "./Releases.js"

export const releaseUseCases = Releases.Default
