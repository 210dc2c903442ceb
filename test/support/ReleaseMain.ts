/** The program as a release that a test builds runs it. */
import { main } from "../../src/runtime/cli/Main.js"

main()
