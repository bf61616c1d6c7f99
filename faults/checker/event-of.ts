/** The event in the body of a delivery. */
export type Reported = {
  readonly eventId: string
  readonly event: string
  readonly messageId?: string
  readonly agentId?: string
  readonly sessionId?: string
}

/** Returns undefined for a body that is not an event of the service. */
export function eventOf(body: string): Reported | undefined {
  try {
    const { id, event, data } = JSON.parse(body) as {
      id: string
      event: string
      data: { messageId?: string; agentId?: string; sessionId?: string }
    }
    return {
      eventId: id,
      event,
      ...(data.messageId !== undefined && { messageId: data.messageId }),
      ...(data.agentId !== undefined && { agentId: data.agentId }),
      ...(data.sessionId !== undefined && { sessionId: data.sessionId }),
    }
  } catch {
    return undefined
  }
}
