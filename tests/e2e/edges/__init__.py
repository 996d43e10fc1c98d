"""NaN, infinities, huge and tiny numbers in every operator: the table, and what makes cases of it."""
