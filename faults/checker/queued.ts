/** Names the message as it stood in its queue: once more for each time that somebody put it back. */
export const queued = ({
  messageId,
  retries = 0,
}: {
  readonly messageId: string
  readonly retries?: number
}): string => `${messageId} ${retries}`
