/** Limits of computations whose cost tenants choose. */
const MiB = 1024 * 1024

/**
 * Computations on data that tenants choose (patterns, schemas, documents, sources, diagrams), which run in processes of
 * their own. Milliseconds of CPU time for each kind; a computation that exceeds it fails.
 */
export const computationLimits = {
  millis: {
    checkSchemas: 1_000,
    checkValue: 1_000,
    matchPatterns: 200,
    compilePatterns: 1_000,
    readDefinition: 5_000,
    importDefinition: 10_000,
    analyseWorkflow: 3_000,
    readFlow: 3_000,
    compileFlow: 5_000,
    compileStep: 5_000,
    readFlowFile: 5_000,
    writeFlowFile: 3_000,
    resumeFlow: 3_000,
    compareFlows: 3_000,
    traceMap: 2_000,
    mapLosses: 3_000,
    drawDiagram: 3_000,
    diffLines: 2_000
  },
  /** Worker processes. One account uses one at a time. */
  workers: 2,
  /** Queued computations of one organisation. */
  waiting: 64,
  /** Characters of one computation's result, which is also bounded by `jsonWeight`: more holds up the main loop. */
  answerBytes: 6 * MiB
} as const
