/** What the body of a delivery reports. */
export type Reported = {
  readonly eventId: string
  readonly event: string
  readonly messageId?: string
}

/** Undefined when it is not the JSON that we send. */
export function eventOf(body: string): Reported | undefined {
  try {
    const { id, event, data } = JSON.parse(body) as {
      id: string
      event: string
      data: { messageId?: string }
    }
    return {
      eventId: id,
      event,
      ...(data.messageId !== undefined && { messageId: data.messageId }),
    }
  } catch {
    return undefined
  }
}
