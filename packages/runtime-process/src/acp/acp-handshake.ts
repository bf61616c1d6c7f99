import type { AuthenticateRequest, InitializeRequest } from '@agentclientprotocol/sdk'
import { z } from 'zod'
import type { AcpConnection, RequestLimits } from './acp-connection.js'
import { InvalidResponse } from './acp-failure.js'
import { methods, PROTOCOL_VERSION } from './acp-sdk.js'

/** The agent's description of itself. */
export type AgentInfo = {
  readonly canLoad: boolean
  readonly canResume: boolean
  /** The ids of the login methods that the agent offers. */
  readonly logins: readonly string[]
}

const initializeResponse = z.object({
  protocolVersion: z.number(),
  agentCapabilities: z
    .object({
      loadSession: z.boolean().optional(),
      sessionCapabilities: z.object({ resume: z.object({}).nullish() }).nullish(),
    })
    .nullish(),
  authMethods: z.array(z.object({ id: z.string() })).nullish(),
})

/**
 * Initializes the connection and logs in if `login` is set. Rejects like `request`, and for another
 * protocol version.
 */
export async function shakeHands(
  connection: AcpConnection,
  login: string | undefined,
  limits: RequestLimits,
): Promise<AgentInfo> {
  const request: InitializeRequest = {
    protocolVersion: PROTOCOL_VERSION,
    // The agent accesses files and terminals in its own process, not through this service.
    clientCapabilities: {},
    clientInfo: { name: 'agent-messaging', version: '0.1.0' },
  }
  const response = await connection.request(methods.agent.initialize, request, limits)
  const { data } = initializeResponse.safeParse(response)
  if (!data) throw new InvalidResponse('its response to initialize is not valid')
  if (data.protocolVersion !== PROTOCOL_VERSION)
    throw new InvalidResponse(
      `the protocol version is ${data.protocolVersion}, and this service supports ${PROTOCOL_VERSION}`,
    )
  if (login !== undefined) {
    const params: AuthenticateRequest = { methodId: login }
    await connection.request(methods.agent.authenticate, params, limits)
  }
  const { loadSession, sessionCapabilities } = data.agentCapabilities ?? {}
  return {
    canLoad: loadSession === true,
    canResume: Boolean(sessionCapabilities?.resume),
    logins: (data.authMethods ?? []).map(({ id }) => id),
  }
}
