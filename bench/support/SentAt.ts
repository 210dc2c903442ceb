/** In a body of the load generator: replaced by the Unix time in milliseconds at which the request is sent. */
export const sentAt = "1000000000000.000"
