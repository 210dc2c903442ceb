/** The use cases of watches, as one layer. */
import { Watches } from "./Watches.js"

export const watchUseCases = Watches.Default
