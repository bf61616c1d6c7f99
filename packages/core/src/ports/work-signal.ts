/** Messages that wait for a process that runs their agent, or deliveries that wait for one that sends. */
export type WaitingWork =
  | { readonly kind: 'messages'; readonly agentId: string }
  | { readonly kind: 'deliveries' }

/**
 * Tells the processes on one storage of work that waits, and that the one which made it does not take now: it does not run the agent, has
 * no slot free for it, or is about to stop. It may lose what it is told, and may tell it to the one that says it: every worker also polls.
 */
export interface WorkSignal {
  announce(work: WaitingWork): void
  /** Hears what is announced from the call on, until what it gives is called. */
  onAnnounced(hear: (work: WaitingWork) => void): () => void
}
