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
 * Which tools an agent can use when it asks: none, all, or these kinds. The agent reports the kind,
 * so the policy stops a mistaken model, but not a lying program.
 */
export type PermissionPolicy = 'deny' | 'allow' | { readonly allow: readonly ToolKind[] }

/**
 * Returns the option to choose, if one fits. Never allows permanently, because agents store that,
 * and a stricter policy would come too late.
 */
export function decidePermission(
  policy: PermissionPolicy,
  toolKind: ToolKind,
  options: readonly PermissionOption[],
): PermissionOption | undefined {
  const isAllowed =
    typeof policy === 'string' ? policy === 'allow' : policy.allow.includes(toolKind)
  const find = (kind: PermissionOption['kind']) => options.find((option) => option.kind === kind)
  return isAllowed ? find('allow_once') : (find('reject_once') ?? find('reject_always'))
}
