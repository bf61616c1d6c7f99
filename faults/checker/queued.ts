/** Returns a name for the message's place in its queue. A retry gives the message another place. */
export const queued = ({
  messageId,
  retries = 0,
}: {
  readonly messageId: string
  readonly retries?: number
}): string => `${messageId} ${retries}`
