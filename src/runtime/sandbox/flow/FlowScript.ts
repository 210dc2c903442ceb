/**
 * The library of `svc.step` and `svc.flow`, which the script of a workflow that uses them brings along. Guests of other
 * workflows do not hold it.
 */
import { flowLibrary } from "../../../domain/expression/FlowLibrary.js"
import { libraryHead } from "../../../domain/flow/Generation.js"
import type { PatternProgram } from "../../../domain/expression/PatternProgram.js"
import { programOf } from "../runner/prelude/Prelude.js"
import run from "./Flow.guest.js"
import flowFile from "./FlowFile.guest.js"
import flowSteps from "./FlowSteps.guest.js"
import halts from "./Halts.guest.js"
import steps from "./Steps.guest.js"
import stepTools from "./StepTools.guest.js"

const stepProgram = programOf(`${steps}\n${halts}\n${stepTools}`)
const flowProgram = programOf(`${run}\n${flowSteps}`)

/** The library of a workflow that uses `svc.step` only. */
export const stepLibrary = `${libraryHead}
${stepProgram}return{__proto__:null,stepIn,standing}}`

/** The library with `svc.flow`, and the compiled patterns of the workflow's conditions, by how they are written. */
export const libraryWithFlow = (patterns: { readonly [pattern: string]: PatternProgram }): string =>
  `${libraryHead}
${stepProgram}const flowIn=(()=>{const expressions=${flowLibrary};const patterns=JSON.parse(${JSON.stringify(JSON.stringify(patterns))});
${flowProgram}return flowIn})();return{__proto__:null,stepIn,runFlow:flowIn(undefined),flowIn,standing}}`

/** The text before the module of a flow's file, on the module's first line: columns of that line are moved by its length. */
export const flowFilePrefix = `"use strict";(function(){globalThis.__workflow=async()=>{const tools=flowFileTools();return tools.read((function(flow){`

const fileTools = programOf(flowFile)

/** The text after the module. `name`: that of its default export. */
export const flowFileSuffix = (name: string): string => `\nreturn ${name}})(tools.flow))}\n${fileTools}})();`
