/** The operations of all surfaces, those of C first: an order in which each finds the records that those before it made. */
import {
  surfaceA,
  surfaceAStart,
  surfaceB,
  surfaceBStart,
  surfaceC,
  surfaceCStart
} from "../../src/http/operations/Surfaces.js"

export const operations = [...surfaceCStart, ...surfaceC, ...surfaceB, ...surfaceBStart, ...surfaceA, ...surfaceAStart]
