import type { ServerContext } from '@modelcontextprotocol/server'
import type { AnswerStream } from '@org/agent-messaging-core'

type Progress = Pick<ServerContext['mcpReq'], 'envelope' | '_meta' | 'notify'>

/** True if the client wants to read the answer while it is written. Earlier revisions get JSON. */
export const wantsProgress = ({ envelope, _meta }: Progress): boolean =>
  envelope !== undefined && _meta?.progressToken !== undefined

/**
 * Tells the client of each piece until `wait` has ended. `progress` counts the UTF-16 units. The
 * result does not need the pieces, so a stream that is refused is left out.
 */
export async function withProgress<T>(
  { _meta, notify }: Progress,
  open: () => Promise<AnswerStream | undefined>,
  wait: () => Promise<T>,
): Promise<T> {
  const stream = await open().catch(() => undefined)
  async function tell(): Promise<void> {
    let progress = 0
    for await (const event of stream ?? []) {
      if (event.kind !== 'chunk') continue
      progress += event.text.length
      const params = { progressToken: _meta?.progressToken, progress, message: event.text }
      await notify({ method: 'notifications/progress', params })
    }
  }
  const telling = tell().catch(() => undefined)
  try {
    return await wait()
  } finally {
    await stream?.return?.()
    await telling
  }
}
