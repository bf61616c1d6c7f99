import type { ToolKind as SdkToolKind } from '@agentclientprotocol/sdk'

/** The kinds of tool in the protocol. */
export const TOOL_KINDS = [
  'read',
  'edit',
  'delete',
  'move',
  'search',
  'execute',
  'think',
  'fetch',
  'switch_mode',
  'other',
] as const satisfies SdkToolKind[]
export type ToolKind = (typeof TOOL_KINDS)[number]

/**
 * Which tools an agent can use when it requests a permission: none, all, those that a person
 * allows, or these kinds. `otherwise` decides on the other kinds, by default `deny`. The agent
 * reports the kind, so the policy stops a mistaken model, but not a lying program.
 */
export type PermissionPolicy =
  | 'deny'
  | 'allow'
  | 'ask'
  | { readonly allow: readonly ToolKind[]; readonly otherwise?: 'deny' | 'ask' }

/** Decides on a permission request. `ask`: a person decides. */
export function decidePermission(
  policy: PermissionPolicy,
  toolKind: ToolKind,
): 'allow' | 'deny' | 'ask' {
  if (typeof policy === 'string') return policy
  return policy.allow.includes(toolKind) ? 'allow' : (policy.otherwise ?? 'deny')
}
