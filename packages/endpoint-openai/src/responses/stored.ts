import type { Message } from '@org/agent-messaging-core'
import { type KitEnv } from '@org/agent-messaging-http-kit'
import type { Context } from 'hono'
import { err, ok, type Result } from 'neverthrow'
import type { EndpointError } from '../errors.js'
import type { MessageRef } from '../ids.js'
import type { Deps } from '../options.js'
import { isDeleted } from './body.js'

/** Reads the message of a response. One of another project, or deleted, counts as missing. */
export async function readStored(
  c: Context<KitEnv>,
  { service }: Deps,
  ref: MessageRef,
): Promise<Result<Message, EndpointError>> {
  const found = await service.messages.get({ projectId: c.get('projectId'), ...ref })
  if (found.isOk())
    return isDeleted(found.value) ? err({ kind: 'message_not_found' }) : ok(found.value)
  const { kind } = found.error
  const isMissing = kind === 'agent_not_found' || kind === 'message_not_found'
  return err(isMissing ? { kind: 'message_not_found' } : found.error)
}

/** Reads the message of a response that the field `param` of a request names. */
export const readNamed = async (
  c: Context<KitEnv>,
  d: Deps,
  ref: MessageRef,
  param: string,
): Promise<Result<Message, EndpointError>> =>
  (await readStored(c, d, ref)).mapErr((error) =>
    error.kind === 'message_not_found' ? { kind: 'reference_not_found', param } : error,
  )
