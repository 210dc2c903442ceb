/** The main program of a release that a test builds. */
import { main } from "../../src/runtime/cli/Main.js"

main()
