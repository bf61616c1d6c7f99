import type { PermissionOption, ToolKind } from '@agentclientprotocol/sdk'

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
] as const satisfies ToolKind[]

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

/**
 * Returns the option that the policy chooses, if one fits. The policy never allows permanently,
 * because agents store that, and a stricter policy would come too late.
 */
export function policyOption(
  decision: 'allow' | 'deny',
  options: readonly PermissionOption[],
): PermissionOption | undefined {
  const find = (kind: PermissionOption['kind']) => options.find((option) => option.kind === kind)
  return decision === 'allow' ? find('allow_once') : (find('reject_once') ?? find('reject_always'))
}
