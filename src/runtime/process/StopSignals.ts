/** The signals that stop svc in order: of a service manager, of Ctrl-C, and of a terminal that is closed. */
export const stopSignals = ["SIGTERM", "SIGINT", "SIGHUP"] as const
