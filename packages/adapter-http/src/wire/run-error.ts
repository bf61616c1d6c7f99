import type { RunError } from '@org/agent-messaging-core'
import { z } from 'zod'

const codes = [
  ...([
    'RUNTIME_ERROR',
    'RUNTIME_TIMEOUT',
    'RUNTIME_LOST',
    'RUNTIME_EXITED',
    'RUNTIME_UNHEALTHY',
  ] as const),
  ...(['RESPONSE_INVALID', 'CANCELLED'] as const),
] as const satisfies readonly RunError['code'][]

export const runErrorSchema = z.object({ code: z.enum(codes), message: z.string() }).meta({
  id: 'RunError',
  description:
    'Why a run, or an agent as a whole, failed. The code is ours, the message may be the agent’s.',
})
