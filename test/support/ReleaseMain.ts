/** The program as a release that a test builds runs it. */
import { main } from "../../src/runtime/program/Main.js"

main()
