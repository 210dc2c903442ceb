/** What the panel says in English. */

/** The texts of a language. What a function gets is a name or a number to put in. */
export interface Texts {
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
  readonly over: string
  readonly overHint: string
  readonly notLoaded: string
  readonly wrong: {
    readonly required: string
    readonly wholeNumber: string
    readonly number: string
    readonly from: (least: number) => string
    readonly upTo: (most: number) => string
    readonly choice: string
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
  }
}

/** The texts in English. */
export const english: Texts = {
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
  over: "This session has ended",
  overHint: "Load the page again to go on.",
  notLoaded: "The integrations could not be loaded.",
  wrong: {
    required: "Please fill this in.",
    wholeNumber: "This must be a whole number.",
    number: "This must be a number.",
    from: (least) => `This must be ${least} or more.`,
    upTo: (most) => `This must be ${most} or less.`,
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
    changed: "It was changed meanwhile. Look at it again."
  }
}
