/** What the attacks of `test/flow/neighbours.test.ts` cost their neighbours, and the memory of the service. */
import "../../support/attackFigures.js"
import "../../flow/neighbours.test.js"
