import { A2A_VERSION_HEADER } from '@a2a-js/sdk'
import { ServerCallContext, validateVersion } from '@a2a-js/sdk/server'
import type { Context } from 'hono'
import type { Env } from './env.js'

/** The third number of a version. It changes nothing in the protocol. */
const PATCH = /(?<=^\d+\.\d+)\.\d+$/

/** Returns the call's context. Throws if the request asks for another version of A2A. */
export async function callOf(
  c: Context<Env>,
  binding: 'JSONRPC' | 'HTTP+JSON',
): Promise<ServerCallContext> {
  // A request without the header asks for version 0.3, by the specification.
  const sent = c.req.header(A2A_VERSION_HEADER) ?? c.req.query(A2A_VERSION_HEADER)
  const requestedVersion = sent?.replace(PATCH, '')
  const call = new ServerCallContext({ ...(requestedVersion && { requestedVersion }) })
  validateVersion(call.requestedVersion, await c.get('handler').getAgentCard(), binding)
  return call
}
