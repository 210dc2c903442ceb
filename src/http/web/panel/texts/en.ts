/** What the panel says in English. */

/** The texts of a language. What a function gets is a name or a number to put in. */
export interface Texts {
  /** Its code. */
  readonly language: string
  readonly title: string
  readonly accounts: string
  readonly noAccounts: string
  readonly connectors: string
  readonly noConnectors: string
  readonly search: string
  readonly noneFound: string
  readonly more: string
  readonly loading: string
  readonly connect: string
  readonly connectTo: (name: string) => string
  readonly signInAt: (name: string) => string
  readonly reconnectTo: (name: string) => string
  readonly reconnect: string
  readonly rename: string
  readonly name: string
  readonly save: string
  readonly cancel: string
  readonly disconnect: string
  readonly disconnectQuestion: (name: string) => string
  readonly back: string
  readonly method: string
  readonly optional: string
  readonly choose: string
  readonly nothing: string
  readonly tryAgain: string
  readonly dismiss: string
  readonly waiting: (name: string) => string
  readonly blocked: (name: string) => string
  readonly openSignIn: (name: string) => string
  readonly stopWaiting: string
  readonly notConnected: (name: string) => string
  readonly expiredAttempt: (name: string) => string
  readonly connected: (name: string) => string
  readonly disconnected: (name: string) => string
  readonly renamed: (name: string) => string
  readonly cannotConnect: (name: string) => string
  readonly shared: string
  readonly status: {
    readonly [status in "active" | "inactive" | "expired" | "failed" | "pending" | "disconnected"]: string
  }
  readonly integrations: string
  readonly notSetUp: string
  readonly setUpStatus: { readonly [status in "active" | "paused" | "needs_connection"]: string }
  readonly setUp: string
  readonly settings: string
  readonly pause: string
  readonly switchOn: string
  readonly remove: string
  readonly removeQuestion: (name: string) => string
  readonly isSetUp: (name: string) => string
  readonly saved: (name: string) => string
  readonly paused: (name: string) => string
  readonly switchedOn: (name: string) => string
  readonly removed: (name: string) => string
  readonly accountOf: (name: string) => string
  readonly noAccount: string
  readonly otherAccount: string
  readonly connectAccountOf: (name: string) => string
  readonly connectAnotherOf: (name: string) => string
  readonly actions: string
  readonly run: string
  readonly isRunning: string
  readonly isStarted: string
  readonly ends: { readonly [end in "completed" | "failed" | "cancelled" | "timed_out"]: string }
  readonly runs: string
  readonly noRuns: string
  readonly readAgain: string
  readonly runStatus: {
    readonly [status in "pending" | "running" | "completed" | "failed" | "cancelled" | "timed_out"]: string
  }
  readonly over: string
  readonly overHint: string
  readonly notLoaded: string
  readonly wrong: {
    readonly required: string
    readonly wholeNumber: string
    readonly number: string
    readonly from: (least: number) => string
    readonly upTo: (most: number) => string
    readonly over: (bound: number) => string
    readonly under: (bound: number) => string
    readonly shortest: (length: number) => string
    readonly longest: (length: number) => string
    readonly choice: string
    readonly account: string
    readonly form: string
    readonly other: string
    readonly refused: (name: string) => string
  }
  readonly error: {
    readonly notReached: string
    readonly tooMany: string
    readonly unavailable: string
    readonly notAllowed: string
    readonly planLimit: string
    readonly missing: string
    readonly changed: string
    readonly paused: string
  }
}

/** The texts in English. */
export const english: Texts = {
  language: "en",
  title: "Integrations",
  accounts: "Your accounts",
  noAccounts: "No account is connected yet.",
  connectors: "Connect an account",
  noConnectors: "There is nothing to connect here yet.",
  search: "Search",
  noneFound: "Nothing has this name.",
  more: "Show more",
  loading: "Loading…",
  connect: "Connect",
  connectTo: (name) => `Connect ${name}`,
  signInAt: (name) => `Sign in to ${name}`,
  reconnectTo: (name) => `Reconnect ${name}`,
  reconnect: "Reconnect",
  rename: "Rename",
  name: "Name",
  save: "Save",
  cancel: "Cancel",
  disconnect: "Disconnect",
  disconnectQuestion: (name) => `Disconnect ${name}? What uses this account stops working.`,
  back: "Back",
  method: "How to connect",
  optional: "optional",
  choose: "Choose one",
  nothing: "None",
  tryAgain: "Try again",
  dismiss: "Close",
  waiting: (name) => `Sign in to ${name} in the window that has opened.`,
  blocked: (name) => `Your browser has opened no window. Sign in to ${name} with this link:`,
  openSignIn: (name) => `Open the sign-in to ${name}`,
  stopWaiting: "Stop waiting",
  notConnected: (name) => `${name} was not connected.`,
  expiredAttempt: (name) => `The sign-in to ${name} took too long. Try again.`,
  connected: (name) => `${name} is connected.`,
  disconnected: (name) => `${name} is disconnected.`,
  renamed: (name) => `The account is named ${name} now.`,
  cannotConnect: (name) => `${name} cannot be connected at the moment. Please ask the provider of this page.`,
  shared: "for everyone",
  status: {
    active: "Connected",
    inactive: "Switched off",
    expired: "Sign in again",
    failed: "Does not work",
    pending: "Not finished",
    disconnected: "Disconnected"
  },
  integrations: "Automations",
  notSetUp: "Not set up",
  setUpStatus: { active: "On", paused: "Paused", needs_connection: "An account is missing" },
  setUp: "Set up",
  settings: "Settings",
  pause: "Pause",
  switchOn: "Switch on",
  remove: "Remove",
  removeQuestion: (name) => `Remove ${name}? It stops, and its settings are deleted.`,
  isSetUp: (name) => `${name} is set up.`,
  saved: (name) => `The settings of ${name} are saved.`,
  paused: (name) => `${name} is paused.`,
  switchedOn: (name) => `${name} is switched on.`,
  removed: (name) => `${name} is removed.`,
  accountOf: (name) => `${name} account`,
  noAccount: "No account",
  otherAccount: "Another person’s account",
  connectAccountOf: (name) => `Connect a ${name} account`,
  connectAnotherOf: (name) => `Connect another ${name} account`,
  actions: "Actions",
  run: "Start",
  isRunning: "Running…",
  isStarted: "Started",
  ends: {
    completed: "Done",
    failed: "This did not work.",
    cancelled: "This was cancelled.",
    timed_out: "This took too long and was stopped."
  },
  runs: "Activity",
  noRuns: "Nothing has run yet.",
  readAgain: "Refresh",
  runStatus: {
    pending: "Waiting",
    running: "Running",
    completed: "Done",
    failed: "Failed",
    cancelled: "Cancelled",
    timed_out: "Took too long"
  },
  over: "This session has ended",
  overHint: "Load the page again to go on.",
  notLoaded: "The integrations could not be loaded.",
  wrong: {
    required: "Please fill this in.",
    wholeNumber: "This must be a whole number.",
    number: "This must be a number.",
    from: (least) => `This must be ${least} or more.`,
    upTo: (most) => `This must be ${most} or less.`,
    over: (bound) => `This must be more than ${bound}.`,
    under: (bound) => `This must be less than ${bound}.`,
    shortest: (length) => `This must have ${length} characters or more.`,
    longest: (length) => `This must have ${length} characters or less.`,
    account: "This account cannot be used. Please choose another one.",
    form: "Something here does not look right. Please check it.",
    choice: "Please choose one of the list.",
    other: "This does not look right. Please check it.",
    refused: (name) => `${name} did not accept this. Please check what you entered.`
  },
  error: {
    notReached: "The service was not reached. Are you online?",
    tooMany: "Too much was asked at once. Try again in a minute.",
    unavailable: "This did not work just now. Try again in a moment.",
    notAllowed: "This is not allowed here.",
    planLimit: "No more can be added at the moment. Please ask the provider of this page.",
    missing: "This does not exist any more.",
    changed: "It was changed meanwhile. Look at it again.",
    paused: "This cannot start now: its automation is paused, or several are on. Switch on exactly one."
  }
}
