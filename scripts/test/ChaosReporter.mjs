// A reporter of vitest for `npm run chaos`: the trial prints what happens by itself. It adds what kept it from its end.
const messageOf = (error) => String(error?.stack ?? error?.message ?? error)

export default class ChaosReporter {
  onTestRunEnd(modules, errors) {
    const all = modules.flatMap((module) => [
      ...module.errors(),
      ...[...module.children.allSuites()].flatMap((suite) => suite.errors()),
      ...[...module.children.allTests("failed")].flatMap((test) => test.result().errors ?? [])
    ])
    // The violations are in the table.
    for (const error of [...all, ...errors])
      if (!/promises were violated/.test(String(error?.message))) console.error(messageOf(error))
  }
}
