import type { PermissionOption, ToolKind } from '@agentclientprotocol/sdk'

/** What the protocol says a tool may be. */
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
 * What an agent may do of what it asks leave for: nothing, all of it, or the kinds of tool named here. Which kind a tool is of
 * the agent says itself, so this holds back a model that errs, not a program that lies.
 */
export type PermissionPolicy = 'deny' | 'allow' | { readonly allow: readonly ToolKind[] }

/**
 * The option to choose, if any fits. Leave is given once at a time: agents write down what is allowed for good, and a stricter
 * policy would then come too late.
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
