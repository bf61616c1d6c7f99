import type { DeliveryAttempt } from '@org/agent-messaging-client'

/** The beginning of the answer on one line, or why the receiver was not reached. */
export const detailOf = ({ statusCode, error, detail, responseBody = '' }: DeliveryAttempt) =>
  statusCode === undefined
    ? `${error}: ${detail}`
    : startOf(responseBody.replaceAll(/\s+/g, ' '), 200)

export const startOf = (text: string, length: number) =>
  text.length > length ? `${text.slice(0, length)}…` : text
