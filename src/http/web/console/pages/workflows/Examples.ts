/** Workflows to begin with. */

export interface WorkflowExample {
  readonly id: string
  readonly title: string
  readonly about: string
  readonly form: "code" | "steps"
  readonly tier: "instant" | "standard" | "long"
  readonly code?: string
  readonly spec?: Readonly<Record<string, unknown>>
}

export const workflowExamples: ReadonlyArray<WorkflowExample> = [
  {
    id: "empty-code",
    title: "Code: answer at once",
    about: "Takes an input, gives an output.",
    form: "code",
    tier: "instant",
    code: `export default async (ctx) => {
  return { greeting: \`Hello \${ctx.input.name ?? "you"}\` }
}
`
  },
  {
    id: "fetch-code",
    title: "Code: read from an API",
    about: "Requests an address, with retries, and counts what it has read.",
    form: "code",
    tier: "standard",
    code: `export default async (ctx) => {
  const orders = await svc.step("read_orders", { retry: { maxAttempts: 3 } }, async () => {
    const answer = await fetch("https://api.example.com/orders?since=" + encodeURIComponent(ctx.input.since))
    if (!answer.ok) throw new Error("the API answered " + answer.status)
    return answer.json()
  })
  const total = await svc.state.increment("orders", orders.length)
  console.log(\`\${orders.length} orders, \${total} altogether\`)
  return { orders: orders.length, total }
}
`
  },
  {
    id: "approval-code",
    title: "Code: wait for an approval",
    about: "Asks a person and goes on when they have decided, also over restarts.",
    form: "code",
    tier: "long",
    code: `export default async (ctx) => {
  const { comment } = await svc.approval("refund", {
    message: \`Refund \${ctx.input.amount} EUR?\`,
    approvers: ["owner@localhost"]
  })
  return { refunded: ctx.input.amount, comment }
}
`
  },
  {
    id: "loop-steps",
    title: "Steps: one for each item",
    about: "Goes through a list and collects the results.",
    form: "steps",
    tier: "standard",
    spec: {
      steps: [
        {
          name: "each",
          type: "loop",
          config: {
            over: "{{input.names}}",
            steps: [{ name: "greet", type: "action", mapping: { text: "Hello {{item}}" } }]
          }
        },
        { name: "count", type: "action", mapping: { greetings: "{{steps.each.output.results}}" } }
      ],
      response: { success: { body: { greetings: "{{steps.count.output.greetings}}" } } }
    }
  },
  {
    id: "webhook-steps",
    title: "Steps: for a webhook",
    about: "Starts for each request to an address of its own, and decides by a condition.",
    form: "steps",
    tier: "standard",
    spec: {
      trigger: { type: "webhook" },
      steps: [
        {
          name: "large",
          type: "gate",
          config: {
            branches: [
              {
                name: "yes",
                when: { path: "input.total", op: "gt", value: 1000 },
                steps: [
                  {
                    name: "tell",
                    type: "notification",
                    config: { channel: "in_app", subject: "A large order", body: "Order {{input.id}}: {{input.total}}" }
                  }
                ]
              }
            ]
          }
        }
      ]
    }
  }
]
