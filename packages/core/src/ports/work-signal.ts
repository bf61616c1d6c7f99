/**
 * Work for another process: messages of an agent that this process does not run, or due
 * deliveries, or new events of a project for readers of its log, or a changed webhook for the
 * holders of its deliveries.
 */
export type WaitingWork =
  | { readonly kind: 'messages'; readonly agentId: string }
  | { readonly kind: 'deliveries' }
  | { readonly kind: 'events'; readonly projectId: string }
  | { readonly kind: 'webhook'; readonly projectId: string; readonly webhookId: string }

/**
 * Tells the processes on one storage about work that its creator does not take: it does not run
 * the agent, has no free slot, or stops. An announcement can get lost, and can reach its sender:
 * every worker also polls.
 */
export interface WorkSignal {
  announce(work: WaitingWork): void
  /** Calls `hear` with each announcement from now on. Returns a function that stops that. */
  onAnnounced(hear: (work: WaitingWork) => void): () => void
}
