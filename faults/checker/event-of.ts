/** The event in the body of a delivery. */
export type Reported = {
  readonly eventId: string
  readonly event: string
  readonly messageId?: string
}

/** Returns undefined for a body that is not an event of the service. */
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
