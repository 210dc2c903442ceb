/** What the attacks of `test/flow/attacks.test.ts` cost their neighbours, and the memory of the service. */
import "../../support/attackFigures.js"
import "../../flow/attacks.test.js"
