/** The use cases of workflows, as one layer. */
import { Layer } from "effect"
import { WorkflowVersions } from "./WorkflowVersions.js"
import { Workflows } from "./Workflows.js"

export const workflowUseCases = Layer.mergeAll(WorkflowVersions.Default, Workflows.Default)
