import { z } from 'zod'
import { sessionPath } from '../messages/conversation.js'
import { Id } from '../parts/parts.js'
import { messagePath } from '../messages/message-table.js'

const schema = z.object({
  data: z.object({
    messageId: z.uuid().optional(),
    sessionId: z.string().optional(),
    agentId: z.uuid().optional(),
  }),
})

type CauseProps = {
  readonly body: string
  /** True if the key of the visit can open messages and sessions. */
  readonly canOpen: boolean
}

/** Links to the message and the session that the event of a delivery reports. */
export function CauseFacts({ body, canOpen }: CauseProps) {
  const { messageId, sessionId, agentId } = causeIn(body)
  return (
    <>
      {messageId !== undefined && (
        <>
          <dt>Message</dt>
          <dd>
            {canOpen ? <Id id={messageId} href={messagePath(messageId)} /> : <Id id={messageId} />}
          </dd>
        </>
      )}
      {sessionId !== undefined && agentId !== undefined && (
        <>
          <dt>Session</dt>
          <dd class="long">
            {canOpen ? (
              <a href={sessionPath(agentId, sessionId)}>
                <bdi>{sessionId}</bdi>
              </a>
            ) : (
              <bdi>{sessionId}</bdi>
            )}
          </dd>
        </>
      )}
    </>
  )
}

function causeIn(body: string): z.output<typeof schema>['data'] {
  try {
    return schema.safeParse(JSON.parse(body)).data?.data ?? {}
  } catch {
    return {}
  }
}
